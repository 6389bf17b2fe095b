// Serves the built site on this machine and looks at it in chromium: every link of every page leads to a page and a
// heading that exist, or to a file of the repository; every picture, style and script exists; and axe-core finds no
// violation in any page at three widths, light and dark, nor in the menu and the search when they are open.
//
//   CHROMIUM=/usr/bin/chromium node check.mjs [PAGE...]
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { source } from "./pages.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

function pagesBelow(dir, at = "/") {
  return readdirSync(dir, { withFileTypes: true }).flatMap((e) => {
    if (e.isDirectory()) return pagesBelow(join(dir, e.name), at + e.name + "/");
    return e.name === "index.html" ? [at] : e.name.endsWith(".html") ? [at + e.name] : [];
  });
}

const server = createServer((request, response) => {
  let file = join(dist, decodeURIComponent(new URL(request.url, "http://site").pathname));
  if (existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
  if (!file.startsWith(dist) || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const base = `http://127.0.0.1:${server.address().port}`;

let problems = 0;
const report = (text) => {
  problems++;
  console.error(text);
};

// Links are read from the files: that needs no browser.
const pages = pagesBelow(dist);
const ids = new Map();
const fileOf = (place) => join(dist, place.endsWith(".html") ? place : place + "/index.html");
const idsOf = (place) => {
  if (!ids.has(place)) {
    const file = fileOf(place);
    const found = existsSync(file) ? [...readFileSync(file, "utf8").matchAll(/\sid="([^"]+)"/g)].map((m) => m[1]) : null;
    ids.set(place, found && new Set(found));
  }
  return ids.get(place);
};
let links = 0;
for (const page of pages) {
  const text = readFileSync(fileOf(page), "utf8");
  for (const [, href] of text.matchAll(/<a\s[^>]*href="([^"]+)"/g)) {
    links++;
    const url = new URL(href.replaceAll("&amp;", "&"), "http://site" + page);
    if (url.href.startsWith(source)) {
      const file = decodeURIComponent(url.pathname.slice(new URL(source).pathname.length));
      if (!existsSync(join(here, "..", file))) report(`${page}: the repository has no ${file}`);
    }
    if (url.host !== "site") continue;
    const found = idsOf(decodeURIComponent(url.pathname));
    if (!found) report(`${page}: there is no ${url.pathname}`);
    else if (url.hash && !found.has(decodeURIComponent(url.hash.slice(1)))) report(`${page}: ${url.pathname} has no ${url.hash}`);
  }
  for (const [, at] of text.matchAll(/<(?:img|script|link|source)\s[^>]*(?:src|href)="([^"]+)"/g)) {
    const url = new URL(at, "http://site" + page);
    const made = url.host === "site" || url.origin === "https://tombolo-iac.github.io";
    const file = join(dist, decodeURIComponent(url.pathname));
    if (made && !url.pathname.endsWith("/") && !existsSync(file)) report(`${page}: there is no ${url.pathname}`);
  }
}
console.log(`${pages.length} pages: ${links} links checked`);

const chosen = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

// look runs axe-core over what a tab shows. The list of all pages, which differs by the mark of one page, may be left out.
async function look(tab, what, withList = true) {
  await tab.evaluate(axe.source);
  const result = await tab.evaluate((exclude) => (exclude.length ? window.axe.run({ exclude }) : window.axe.run()), withList ? [] : ["nav.sidebar ul"]);
  for (const v of result.violations) {
    report(`${what}: ${v.id}: ${v.help}\n    ${v.nodes[0].html.slice(0, 200)} (${v.nodes.length})\n    ${v.nodes[0].failureSummary}`);
  }
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wide > 0) report(`${what}: the page is ${wide} pixels wider than the window`);
}

// opened looks at the menu of a narrow window and at the search.
async function opened(tab, width, colorScheme) {
  await tab.goto(base + "/guides/report/");
  if (width === 360) {
    await tab.click("starlight-menu-button button");
    await look(tab, `the menu at ${width}, ${colorScheme}`);
    await tab.keyboard.press("Escape");
  }
  await tab.click("button[data-open-modal]");
  await tab.waitForSelector("dialog[open] input");
  await tab.fill("dialog[open] input", "encryption");
  await tab.waitForSelector("dialog[open] .pagefind-ui__result-link");
  await look(tab, `the search at ${width}, ${colorScheme}`);
}

for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 800, 1440]) {
    const began = performance.now();
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    context.setDefaultTimeout(120000);
    const tab = await context.newPage();
    tab.on("pageerror", (error) => report(`${tab.url()}: ${error}`));
    for (const page of chosen.length ? chosen : pages) {
      await tab.goto(base + page);
      await look(tab, `${page} at ${width}, ${colorScheme}`, page === "/guides/report/");
    }
    await opened(tab, width, colorScheme);
    await context.close();
    console.log(`  ${width}, ${colorScheme}: ${Math.round((performance.now() - began) / 1000)} s`);
  }
}
await browser.close();
server.close();
console.log(problems ? `${problems} problems` : "no problems");
process.exit(problems ? 1 : 0);
