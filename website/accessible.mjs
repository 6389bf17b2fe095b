// What the pages of the site lack for people who use a keyboard or a screen reader, mended in the files that are built:
// wide tables and blocks of long lines can be scrolled with the keyboard, cells of headings that say nothing are no
// headings, and the keys that the search button shows, which the style writes, are not a part of its name.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export function accessible(html) {
  return html
    .replace(/<table>/g, '<div class="scrolls" role="group" tabindex="0" aria-label="Table"><table>')
    .replace(/<\/table>/g, "</table></div>")
    .replace(/<th([^>]*)>\s*<\/th>/g, "<td$1></td>")
    .replace(/<pre (data-language="[^"]*" class="wrap" style="--ecMaxLine:\d{2,}ch")/g, '<pre tabindex="0" $1')
    .replace(/(<button data-open-modal[\s\S]*?)<kbd class="sl-hidden/g, '$1<kbd aria-hidden="true" class="sl-hidden')
    .replace(/<kbd( class="[^"]*")>(Ctrl|K)<\/kbd>/g, '<kbd$1 data-key="$2"></kbd>');
}

export default function integration() {
  return {
    name: "accessible",
    hooks: {
      "astro:build:done": ({ dir }) => {
        const root = fileURLToPath(dir);
        for (const name of readdirSync(root, { recursive: true })) {
          if (!name.endsWith(".html")) continue;
          const file = join(root, name);
          writeFileSync(file, accessible(readFileSync(file, "utf8")));
        }
      },
    },
  };
}
