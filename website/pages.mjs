// Makes the pages of the site from the documents of the repository, which stay the only source: each gets a title, and
// its links lead to pages of the site, or to the repository if there is none.
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { languagesPage } from "./languages.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const repository = dirname(here);
const target = join(here, ".pages");
export const source = "https://github.com/tombolo-iac/tombolo/blob/main/";

// folder returns the pages of a folder of docs, which has the same name on the site, except those of another place.
function folder(name, except = []) {
  const files = readdirSync(join(repository, "docs", name)).filter((file) => !except.includes(file)).sort();
  return Object.fromEntries(files.map((file) => [`${name}/${file.replace(/\.md$/, "")}`, `docs/${name}/${file}`]));
}

// The pages by their place on the site: the document, as a path of the repository.
export const groups = [
  {
    label: "Start",
    pages: {
      "start/install": "docs/start/install.md",
      "start/first-apply": "docs/start/first-apply.md",
      "start/from-terraform": "docs/start/from-terraform.md",
      "start/from-opentofu": "docs/start/from-opentofu.md",
      "start/from-pulumi": "docs/start/from-pulumi.md",
      "start/windows": "docs/windows.md",
    },
  },
  {
    label: "Guides",
    pages: {
      "guides/state": "docs/state.md",
      "guides/ci": "docs/ci.md",
      "guides/trust": "docs/trust.md",
      "guides/encryption": "docs/encryption.md",
      "guides/testing": "docs/testing.md",
      "guides/programs": "docs/programs.md",
      "guides/program-providers": "docs/program-providers.md",
      "guides/kits": "docs/kits.md",
      "guides/sandboxed-programs": "docs/sandboxed-programs.md",
      "guides/http-providers": "docs/http-providers.md",
      "guides/openapi": "docs/openapi.md",
      "guides/providers-in-go": "docs/providers-in-go.md",
      "guides/state-programs": "docs/state-programs.md",
      "guides/provisioners": "docs/provisioners.md",
      "guides/library": "docs/library.md",
      "guides/drop-in": "docs/drop-in.md",
      "guides/installation": "docs/installation.md",
      "guides/report": "docs/report.md",
      "guides/serve": "docs/serve.md",
      "guides/traces": "docs/traces.md",
      "guides/editors": "docs/editors.md",
    },
  },
  {
    label: "Backends",
    pages: folder("backends"),
  },
  {
    label: "Extensions",
    pages: { extensions: "docs/extensions.md", ...folder("extensions", ["errors.md"]) },
  },
  {
    label: "Reference",
    pages: {
      "reference/functions": "docs/functions.md",
      "reference/references": "docs/references.md",
      "reference/newer": "docs/newer.md",
      "reference/opentofu": "docs/opentofu.md",
      "reference/compatibility": "docs/compatibility.md",
      "reference/program-protocol": "docs/program-protocol.md",
      "reference/providers-in-go": "docs/providers-in-go-reference.md",
      "reference/plugins": "docs/plugins.md",
    },
    commands: true,
  },
  {
    label: "Errors",
    pages: { errors: "docs/extensions/errors.md" },
    errors: true,
  },
  {
    label: "Explanation",
    pages: {
      "explanation/journal": "docs/journal.md",
      "explanation/speed": "bench/README.md",
      "explanation/rationale": "RATIONALE.md",
      "explanation/architecture": "ARCHITECTURE.md",
    },
  },
  {
    label: "Project",
    pages: {
      "project/changelog": "CHANGELOG.md",
      "project/promises": "docs/promises.md",
      "project/releases": "docs/releases.md",
      "project/contributing": "CONTRIBUTING.md",
      "project/security": "SECURITY.md",
    },
  },
];

// languagesPlace is the page about the first provider; see languages.mjs.
export const languagesPlace = "guides/your-language";

const places = new Map(groups.flatMap((g) => Object.entries(g.pages).map(([place, file]) => [file, place])));

// commands are the pages that the program's own help makes.
const commandsDir = join(here, ".commands");

// errorsDir are the pages about codes of problems: what the command explain prints.
const errorsDir = join(here, ".errors");

// functionsDir has the page of all functions, with examples of the tests.
const functionsDir = join(here, ".functions");
export const functionsPlace = "reference/all-functions";

const placesIn = (dir, below) =>
  existsSync(dir) ? readdirSync(dir).sort().map((name) => below + name.replace(/\.md$/, "")) : [];

export const commandPlaces = () => placesIn(commandsDir, "reference/commands/");
export const errorPlaces = () => placesIn(errorsDir, "errors/");

// outsideCode calls change with each part of a text that is no code.
function outsideCode(text, change) {
  return text
    .split(/(^```[\s\S]*?^```|`[^`\n]*`)/m)
    .map((part, i) => (i % 2 ? part : change(part)))
    .join("");
}

function linked(text, file) {
  return outsideCode(text, (part) =>
    part.replace(/\]\(([^)\s]+)\)/g, (whole, link) => {
      if (/^[a-z]+:/.test(link) || link.startsWith("#")) return whole;
      const [path, anchor] = link.split("#");
      if (/\.(png|svg)$/.test(path)) return `](/pictures/${posix.basename(path)})`;
      const wanted = posix.normalize(posix.join(posix.dirname(file), path));
      const place = places.get(wanted);
      return `](${place ? `/${place}/` : source + wanted}${anchor ? "#" + anchor : ""})`;
    }),
  );
}

// angled keeps angle brackets in prose, such as <subcommand>, from being read as HTML; comments go.
function angled(text) {
  return outsideCode(text, (part) => part.replace(/<!--[\s\S]*?-->\n?/g, "").replace(/<(?=[a-zA-Z/])/g, "&lt;"));
}

function page(text, file, edit) {
  const heading = /^# (.*)\n+/.exec(text);
  if (!heading) throw new Error(`${file} does not begin with a heading`);
  const title = heading[1].replace(/`/g, "");
  const body = linked(angled(text.slice(heading[0].length)), file);
  const first = /^[A-Z][^\n]*(?:\n[^\n]+)*/m.exec(body)?.[0] ?? title;
  const description = first.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "").replace(/\s+/g, " ").slice(0, 150);
  return `---\ntitle: ${JSON.stringify(title)}\ndescription: ${JSON.stringify(description)}\n${
    edit ? `editUrl: ${JSON.stringify(source.replace("/blob/", "/edit/") + file)}\n` : "editUrl: false\n"
  }---\n\n${body}`;
}

function write(place, text) {
  const file = join(target, place + ".md");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function main() {
  for (const [job, dir] of [["pages", commandsDir], ["errors", errorsDir], ["functions", functionsDir]]) {
    rmSync(dir, { recursive: true, force: true });
    execFileSync("go", ["run", "./release", job, dir], { cwd: repository, stdio: "inherit" });
  }
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target);
  copyFileSync(join(here, "src/index.mdx"), join(target, "index.mdx"));
  mkdirSync(join(target, "guides"));
  writeFileSync(join(target, languagesPlace + ".mdx"), languagesPage(repository));
  cpSync(join(repository, "docs/pictures"), join(here, "public/pictures"), { recursive: true });
  for (const [file, place] of places) write(place, page(readFileSync(join(repository, file), "utf8"), file, true));
  const functions = join(functionsDir, "functions.md");
  write(functionsPlace, page(readFileSync(functions, "utf8"), relative(repository, functions), false));
  for (const place of [...commandPlaces(), ...errorPlaces()]) {
    const file = join(place.startsWith("errors/") ? errorsDir : commandsDir, place.split("/").pop() + ".md");
    write(place, page(readFileSync(file, "utf8"), relative(repository, file), false));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
