// The page about the first provider, with a tab for each language: it shows what "tombolo provider new" writes.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const languages = [
  { lang: "bash", label: "Bash", files: ["provider.sh", "tombolo-provider.json"] },
  { lang: "python", label: "Python", files: ["provider.py", "tombolo-provider.json"] },
  { lang: "node", label: "Node.js", files: ["provider.js", "tombolo-provider.json"] },
  { lang: "ruby", label: "Ruby", files: ["provider.rb", "tombolo-provider.json"] },
  { lang: "go", label: "Go", files: ["provider.go", "provider_test.go"] },
  { lang: "http", label: "HTTP", files: ["tombolo-provider.json"] },
];

const fenced = (language, text) => "```" + language + "\n" + text.trimEnd() + "\n```\n\n";

function tab({ lang, label, files }, repository, dir) {
  const out = join(dir, lang);
  const said = execFileSync("go", ["run", "./cmd/tombolo", "provider", "new", "notes", "-lang", lang, "-out", out], {
    cwd: repository,
    encoding: "utf8",
  });
  const tried = /^Try it with: (.*)$/m.exec(said);
  if (!tried) throw new Error(`provider new -lang ${lang} does not say how to try it: ${said}`);
  const shown = files.map((name) => {
    const text = readFileSync(join(out, name), "utf8");
    return "`" + name + "`\n\n" + fenced(name.split(".").pop(), text);
  });
  const commands = `tombolo provider new notes -lang ${lang}\n${tried[1].replaceAll(out, "notes")}\n`;
  return `<TabItem label="${label}">\n\n${fenced("sh", commands)}${shown.join("")}</TabItem>\n`;
}

export function languagesPage(repository) {
  const dir = mkdtempSync(join(tmpdir(), "languages-"));
  try {
    const tabs = languages.map((l) => tab(l, repository, dir)).join("");
    return `---
title: A provider in your language
description: A complete provider in Bash, Python, Node.js, Ruby, Go, or as a manifest for an HTTP API.
editUrl: false
---

import { Tabs, TabItem } from "@astrojs/starlight/components";

The command \`tombolo provider new\` writes a small, complete provider with a test. It manages files, except for HTTP,
where it manages objects of an API. Choose a language, run the two commands, and replace what the provider does with
your own code.

<Tabs syncKey="language">
${tabs}</Tabs>

The README that the command writes shows how to use the provider in a configuration. [Programs as
providers](/guides/program-providers/) is the guide, [the protocol](/reference/program-protocol/) the reference;
[a provider in Go](/guides/providers-in-go/) and [HTTP APIs](/guides/http-providers/) have their own guides.
`;
  } finally {
    rmSync(dir, { recursive: true });
  }
}
