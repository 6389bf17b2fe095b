import { docsSchema } from "@astrojs/starlight/schema";
import { glob } from "astro/loaders";
import { defineCollection } from "astro:content";

// The pages are made by pages.mjs.
export const collections = {
  docs: defineCollection({ loader: glob({ base: "./.pages", pattern: "**/*.{md,mdx}" }), schema: docsSchema() }),
};
