module github.com/tombolo-iac/tombolo/conformance/drivers/tfsummarize

go 1.26.8

tool github.com/dineshba/tf-summarize

require (
	github.com/apparentlymart/go-textseg/v15 v15.0.0 // indirect
	github.com/dineshba/tf-summarize v0.3.10 // indirect
	github.com/fatih/color v1.15.0 // indirect
	github.com/hashicorp/go-version v1.6.0 // indirect
	github.com/hashicorp/terraform-json v0.20.0 // indirect
	github.com/m1gwings/treedrawer v0.3.3-beta // indirect
	github.com/mattn/go-colorable v0.1.13 // indirect
	github.com/mattn/go-isatty v0.0.17 // indirect
	github.com/mattn/go-runewidth v0.0.9 // indirect
	github.com/nsf/jsondiff v0.0.0-20210926074059-1e845ec5d249 // indirect
	github.com/olekukonko/tablewriter v0.0.5 // indirect
	github.com/zclconf/go-cty v1.14.1 // indirect
	golang.org/x/sys v0.6.0 // indirect
	golang.org/x/text v0.11.0 // indirect
)
