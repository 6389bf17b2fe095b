import starlight from "@astrojs/starlight";
import { defineConfig } from "astro/config";
import accessible from "./accessible.mjs";
import { commandPlaces, errorPlaces, functionsPlace, groups, languagesPlace } from "./pages.mjs";

// The field of the search, which a script makes, has a title and no label.
const labelOfSearch = `new MutationObserver((_, observer) => {
  const field = document.querySelector("input.pagefind-ui__search-input");
  if (!field) return;
  field.setAttribute("aria-label", field.title);
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });`;

export default defineConfig({
  site: "https://tombolo-iac.github.io",
  integrations: [
    starlight({
      title: "Tombolo",
      description: "Infrastructure as code in the Terraform language, with providers in any language",
      social: [{ icon: "github", label: "GitHub", href: "https://github.com/tombolo-iac/tombolo" }],
      customCss: ["./src/site.css"],
      head: [{ tag: "script", content: labelOfSearch }],
      lastUpdated: false,
      expressiveCode: { defaultProps: { wrap: true } },
      sidebar: groups.map((group) => ({
        label: group.label,
        items: [
          ...(group.label === "Guides" ? [languagesPlace] : []),
          ...Object.keys(group.pages),
          ...(group.commands ? [functionsPlace] : []),
          ...(group.commands ? [{ label: "Commands", collapsed: true, items: commandPlaces() }] : []),
          ...(group.errors ? errorPlaces() : []),
        ],
      })),
    }),
    accessible(),
  ],
});
