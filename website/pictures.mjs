// Makes the pictures of the README and the documents from the real program: docs/pictures/session.svg, a recorded
// session at a terminal, and docs/pictures/report.png and graph.png, a report in chromium.
//
//   TOMBOLO=../tombolo CHROMIUM=/usr/bin/chromium node pictures.mjs
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const pictures = join(here, "../docs/pictures");
const program = resolve(process.env.TOMBOLO ?? join(here, "../tombolo"));
mkdirSync(pictures, { recursive: true });
const work = mkdtempSync(join(tmpdir(), "pictures-"));
writeFileSync(join(work, "empty.tfrc"), "");

// run runs a command of the program and returns its lines, each with the milliseconds after which it came.
function run(dir, args, more = {}) {
  const env = { PATH: process.env.PATH, HOME: work, TF_CLI_CONFIG_FILE: join(work, "empty.tfrc"), CHECKPOINT_DISABLE: "1",
    FORCE_COLOR: "1", LANG: "C.UTF-8", TOMBOLO_PROGRAM_PROVIDERS: `example/cloud=${join(here, "pictures/cloud")}`, ...more };
  return new Promise((done, failed) => {
    const began = Date.now();
    const lines = [];
    let rest = "";
    const p = spawn(program, args, { cwd: dir, env, stdio: ["ignore", "pipe", "inherit"] });
    p.stdout.setEncoding("utf8");
    p.stdout.on("data", (text) => {
      const parts = (rest + text).split("\n");
      rest = parts.pop();
      for (const line of parts) lines.push({ text: line, after: Date.now() - began });
    });
    p.on("close", (status) => (status === 0 ? done(lines) : failed(new Error(`${args.join(" ")} ends with ${status}`))));
  });
}

const colours = { 31: "#ff8f8a", 32: "#7fdca0", 33: "#f0c465", 36: "#8fd3ff", 90: "#8b98a8" };
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// spans makes elements of a line with escape sequences.
function spans(line) {
  const parts = line.split(/\x1b\[(\d+)m/);
  let [fill, bold] = [null, false];
  return parts.map((part, i) => {
    if (i % 2) {
      if (part === "0") [fill, bold] = [null, false];
      else if (part === "1") bold = true;
      else fill = colours[part] ?? fill;
      return "";
    }
    if (!part) return "";
    const style = (fill ? ` fill="${fill}"` : "") + (bold ? ' font-weight="700"' : "");
    return style ? `<tspan${style}>${escaped(part)}</tspan>` : escaped(part);
  }).join("");
}

const size = { line: 19, columns: 92, rows: 30, pad: 18, bar: 34, column: 8.43 };

// film makes a picture that plays: the lines stand below each other, a cover goes down line by line, and what is full
// moves up. Who wants no motion sees the end.
function film(scenes) {
  const lines = [];
  const stops = []; // [time, lines that can be seen]
  let time = 600;
  for (const { command, output } of scenes) {
    if (lines.length) lines.push("");
    lines.push(`\x1b[32m$\x1b[0m \x1b[1m${command}\x1b[0m`);
    stops.push([time, lines.length]);
    time += 1100;
    let last = 0;
    for (const { text, after } of output) {
      time += Math.min(1200, Math.max(45, after - last));
      last = after;
      lines.push(text);
      stops.push([time, lines.length]);
    }
    time += 2600;
  }
  const total = time + 3000;
  const top = (n) => -Math.max(0, n - size.rows) * size.line;
  const percent = (t) => ((100 * t) / total).toFixed(2) + "%";
  const frames = (name, of) => `@keyframes ${name}{0%{transform:translateY(${of(0)}px)}` +
    stops.map(([t, n]) => `${percent(t)}{transform:translateY(${of(n)}px)}`).join("") +
    `100%{transform:translateY(${of(lines.length)}px)}}`;
  const width = Math.round(size.columns * size.column + 2 * size.pad);
  const height = size.rows * size.line + size.bar + 2 * size.pad - 8;
  const text = lines.map((line, i) => (line ? `<text y="${(i + 1) * size.line - 5}">${spans(line)}</text>` : "")).join("\n");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A terminal: tombolo plans and applies a change">
<style>
text{font:14px ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#dfe6ee;white-space:pre}
.scroll{transform:translateY(${top(lines.length)}px);animation:scroll ${total}ms step-end infinite}
.cover{transform:translateY(${lines.length * size.line}px);animation:cover ${total}ms step-end infinite}
${frames("scroll", top)}
${frames("cover", (n) => n * size.line)}
@media (prefers-reduced-motion:reduce){.scroll,.cover{animation:none}}
</style>
<rect width="${width}" height="${height}" rx="12" fill="#10151c"/>
<circle cx="22" cy="20" r="6" fill="#ff6058"/><circle cx="42" cy="20" r="6" fill="#ffbd2e"/><circle cx="62" cy="20" r="6" fill="#28c941"/>
<svg x="${size.pad}" y="${size.bar + 8}" width="${width - 2 * size.pad}" height="${size.rows * size.line}">
<g class="scroll">
${text}
<rect class="cover" width="${width}" height="${(lines.length + size.rows) * size.line}" fill="#10151c"/>
</g>
</svg>
</svg>
`;
}

const dir = join(work, "shop");
cpSync(join(here, "pictures/before"), dir, { recursive: true });
await run(dir, ["init"]);
const first = await run(dir, ["apply", "-auto-approve", "-concise"]);
cpSync(join(here, "pictures/after"), dir, { recursive: true });
const changed = { CLOUD_CHANGED: join(dir, "main.tf") };
const planned = await run(dir, ["plan", "-out=change.plan", "-report=plan.html"], changed);
const applied = await run(dir, ["apply", "-report=apply.html", "change.plan"], changed);
const again = await run(dir, ["plan"], {});
if (!first.length || !planned.length) throw new Error("the program says nothing");
const session = [
  { command: "tombolo plan -out=change.plan", output: planned },
  { command: "tombolo apply change.plan", output: applied },
  { command: "tombolo plan", output: again },
];
writeFileSync(join(pictures, "session.svg"), film(session));

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await (await browser.newContext({ viewport: { width: 1180, height: 900 }, deviceScaleFactor: 1.5 })).newPage();
const shot = async (name) => page.screenshot({ path: join(pictures, name) });
await page.goto(pathToFileURL(join(dir, "plan.html")).href);
await page.waitForSelector("html[data-ready]");
await page.evaluate(() => document.querySelector(".notes")?.remove());
await shot("report.png");
await page.click("#tab-graph");
await page.setViewportSize({ width: 1180, height: 760 });
await page.evaluate(() => document.querySelector(".losses")?.remove());
await page.waitForTimeout(200);
await page.locator(".side button.link", { hasText: "cloud_balancer.web" }).click();
await page.waitForTimeout(300);
await page.evaluate(() => document.querySelector(".tabs").scrollIntoView());
await page.waitForTimeout(100);
await shot("graph.png");
await browser.close();
rmSync(work, { recursive: true });
