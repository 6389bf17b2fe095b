// Serves the built site on this machine and looks at it in chromium: every link of every page leads to a page and a
// heading that exist, and axe-core finds no violation at three widths, light and dark.
//
//   CHROMIUM=/usr/bin/chromium node check.mjs [PAGE...]
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";

const dist = join(dirname(fileURLToPath(import.meta.url)), "dist");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

function pagesBelow(dir, at = "/") {
  return readdirSync(dir, { withFileTypes: true }).flatMap((e) => {
    if (e.isDirectory()) return pagesBelow(join(dir, e.name), at + e.name + "/");
    return e.name === "index.html" ? [at] : [];
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
const idsOf = (place) => {
  if (!ids.has(place)) {
    const file = join(dist, place, "index.html");
    const found = existsSync(file) ? [...readFileSync(file, "utf8").matchAll(/\sid="([^"]+)"/g)].map((m) => m[1]) : null;
    ids.set(place, found && new Set(found));
  }
  return ids.get(place);
};
for (const page of pages) {
  const text = readFileSync(join(dist, page, "index.html"), "utf8");
  for (const [, href] of text.matchAll(/<a\s[^>]*href="([^"]+)"/g)) {
    const url = new URL(href.replaceAll("&amp;", "&"), "http://site" + page);
    if (url.host !== "site") continue;
    const found = idsOf(decodeURIComponent(url.pathname));
    if (!found) report(`${page}: there is no ${url.pathname}`);
    else if (url.hash && !found.has(decodeURIComponent(url.hash.slice(1)))) report(`${page}: ${url.pathname} has no ${url.hash}`);
  }
}
console.log(`${pages.length} pages: links checked`);

const chosen = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 800, 1440]) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const tab = await context.newPage();
    tab.on("pageerror", (error) => report(`${tab.url()}: ${error}`));
    for (const page of chosen.length ? chosen : pages) {
      await tab.goto(base + page);
      await tab.evaluate(axe.source);
      const result = await tab.evaluate(() => window.axe.run());
      for (const v of result.violations) {
        report(`${page} at ${width}, ${colorScheme}: ${v.id}: ${v.help}\n    ${v.nodes[0].html.slice(0, 200)} (${v.nodes.length})`);
      }
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wide > 0) report(`${page} at ${width}: the page is ${wide} pixels wider than the window`);
    }
    await context.close();
  }
}
await browser.close();
server.close();
console.log(problems ? `${problems} problems` : "no problems");
process.exit(problems ? 1 : 0);
