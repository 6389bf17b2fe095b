// Reads code with the grammars of docs/schemas as editors and websites do, and checks what each word is taken for.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHighlighter } from "shiki";

const schemas = join(dirname(dirname(fileURLToPath(import.meta.url))), "docs/schemas");
const load = (file, name) => ({ ...JSON.parse(readFileSync(join(schemas, file), "utf8")), name });
const highlighter = await createHighlighter({
  themes: ["github-dark"],
  langs: [load("tombolo.tmLanguage.json", "tombolo"), load("tombolo-project.tmLanguage.json", "tombolo-project")],
});

// scopes returns the last scope of each part of a text, without the end ".tombolo".
function scopes(code, lang) {
  const { tokens } = highlighter.codeToTokens(code, { lang, theme: "github-dark", includeExplanation: true });
  return tokens
    .flat()
    .flatMap((token) => token.explanation)
    .map((part) => [part.content, part.scopes.at(-1).scopeName.replace(/\.tombolo$/, "")]);
}

let failed = 0;
function expect(lang, code, wanted) {
  const found = scopes(code, lang);
  for (const [text, scope] of wanted) {
    if (!found.some(([content, name]) => content.trim() === text && name === scope)) {
      failed++;
      console.error(`${lang}: ${text} is not ${scope} in\n${code}\n${JSON.stringify(found)}`);
    }
  }
}

expect("tombolo", 'type "subnet" {\n  definition = object({ cidr = string, public = optional(bool, false) })\n}\n', [
  ["type", "keyword.control.block"], ["definition", "support.variable.argument"], ["object", "support.type"],
  ["cidr", "variable.other.property"], ["string", "support.type"], ["false", "constant.language"],
]);
expect("tombolo", 'function "f" {\n  parameter "n" { type = number }\n  result = [for i in range(param.n) : local::g("a${upper(i)}b")]\n}\n', [
  ["function", "keyword.control.block"], ["parameter", "keyword.control.block"], ["result", "support.variable.argument"],
  ["for", "keyword.control"], ["range", "support.function.builtin"], ["param", "variable.language"],
  ["local::g", "support.function.namespaced"], ["upper", "support.function.builtin"], ['"', "string.quoted.double"],
]);
expect("tombolo", 'resource "a_b" "c" {\n  # why\n  text = <<-EOT\n    one ${var.x}\n  EOT\n  other_block {\n    size = 12\n  }\n}\n', [
  ["resource", "keyword.control.block"], ["# why", "comment.line.number-sign"], ["var", "variable.language"],
  ["other_block", "entity.name.type.block"], ["size", "variable.other.property"], ["12", "constant.numeric"],
]);
expect("tombolo-project", 'provider "example/notes" {\n  calls_at_once = 4\n  retry {\n    errors = ["timeout"]\n  }\n}\n', [
  ["provider", "keyword.control.block"], ["calls_at_once", "support.variable.argument"], ["4", "constant.numeric"],
  ["retry", "keyword.control.block"], ["errors", "support.variable.argument"],
]);
if (failed) process.exit(1);
console.log("the grammars know the words");
