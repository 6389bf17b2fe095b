// Package config turns files into the static tree of modules: native (.tf) and JSON (.tf.json) syntax, override files,
// requirements, and the bodies that are left for the schemas of providers. It evaluates nothing: only what the language
// demands to be literal (versions, module sources, type constraints, addresses) is understood here.
//
//	cfg, diags := config.Load(ctx, config.Options{Dir: ".", LanguageVersion: "1.11.4"})
//	for _, m := range cfg.SortedModules() { ... }
//
// Load reads the called modules from where the module manifest says that they are; putting them there is the business of
// package fetch. All files of a module are parsed in parallel by goroutines that end before Load returns. The result is
// immutable.
package config
