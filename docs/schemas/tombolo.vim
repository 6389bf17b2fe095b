" Syntax of *.tombolo and tombolo.hcl. Written by "go run ./release grammars": do not edit.
if exists("b:current_syntax")
  finish
endif
syntax iskeyword @,48-57,_,-
syntax match tomboloComment "#.*$\|//.*$" contains=@Spell
syntax region tomboloComment start="/\*" end="\*/" contains=@Spell
syntax region tomboloString start=+"+ skip=+\\\\\|\\"+ end=+"+ contains=tomboloTemplate,@Spell
syntax region tomboloString start="<<-\?\z([A-Za-z_][A-Za-z0-9_-]*\)$" end="^\s*\z1$" contains=tomboloTemplate
syntax region tomboloTemplate start="[$%]{" end="}" contained contains=TOP
syntax match tomboloNumber "\<\d\+\(\.\d\+\)\?\>"
syntax keyword tomboloConstant true false null
syntax match tomboloBlock +^\s*\zs\%(action\|action_trigger\|assert\|backend\|check\|cloud\|compatible_with\|config\|connection\|data\|encryption\|ephemeral\|function\|hook\|import\|language\|lifecycle\|list\|locals\|mock_data\|mock_provider\|mock_resource\|module\|modules\|moved\|output\|override_data\|override_module\|override_resource\|parameter\|plan\|plan_options\|policy\|postcondition\|precondition\|provider\|provider_meta\|provisioner\|refresh\|removed\|required_providers\|resource\|resources\|retry\|run\|stack\|terraform\|test\|type\|unit\|validation\|variable\|variables\)\ze\s*["{]+
syntax match tomboloArgument +^\s*\zs\%(actions\|alias\|allow_deferral\|attempts\|calls_at_once\|calls_per_second\|changes_at_once\|command\|condition\|const\|count\|create_before_destroy\|default\|defaults\|definition\|depends_on\|deprecated\|description\|destroy\|edition\|enabled\|environment\|ephemeral\|error_message\|errors\|events\|expect_failures\|experiments\|for_each\|from\|id\|identity\|ignore_changes\|ignore_nested_deprecations\|language\|lock\|max_age\|max_wait\|minimal\|mode\|nullable\|objects\|on_failure\|opentofu\|optional\|outputs\|override_during\|parallel\|prevent_destroy\|provider\|providers\|refresh\|refusals\|remember_prevent_destroy\|replace\|replace_triggered_by\|required_version\|result\|sensitive\|source\|state_key\|stop_on_failure\|target\|timeout\|to\|type\|units_at_once\|value\|values\|var_files\|variables\|variadic\|version\|wait\|when\|workspace\)\ze\s*=\(=\)\@!+
syntax match tomboloFunction +\<\%(abs\|abspath\|alltrue\|anytrue\|base64decode\|base64encode\|base64gunzip\|base64gzip\|base64sha256\|base64sha512\|basename\|bcrypt\|can\|ceil\|chomp\|chunklist\|cidrcontains\|cidrhost\|cidrnetmask\|cidrsubnet\|cidrsubnets\|coalesce\|coalescelist\|compact\|concat\|contains\|convert\|csvdecode\|dirname\|distinct\|element\|endswith\|ephemeralasnull\|file\|filebase64\|filebase64sha256\|filebase64sha512\|fileexists\|filemd5\|fileset\|filesha1\|filesha256\|filesha512\|flatten\|floor\|format\|formatdate\|formatlist\|indent\|index\|issensitive\|join\|jsondecode\|jsonencode\|keys\|length\|list\|log\|lookup\|lower\|map\|matchkeys\|max\|md5\|merge\|min\|nonsensitive\|one\|parseint\|pathexpand\|plantimestamp\|pow\|range\|regex\|regexall\|replace\|reverse\|rsadecrypt\|sensitive\|setintersection\|setproduct\|setsubtract\|setunion\|sha1\|sha256\|sha512\|signum\|slice\|sort\|split\|startswith\|strcontains\|strrev\|substr\|sum\|templatefile\|templatestring\|textdecodebase64\|textencodebase64\|timeadd\|timecmp\|timestamp\|title\|tobool\|tolist\|tomap\|tonumber\|toset\|tostring\|transpose\|trim\|trimprefix\|trimspace\|trimsuffix\|try\|upper\|urldecode\|urlencode\|uuid\|uuidv5\|values\|yamldecode\|yamlencode\|zipmap\)\ze(+
syntax match tomboloReference +\(\.\)\@<!\<\%(action\|arg\|caller\|count\|data\|each\|ephemeral\|lazy\|list\|local\|module\|param\|path\|resource\|self\|template\|terraform\|tofu\|type\|var\)\ze[.[]+
highlight default link tomboloComment Comment
highlight default link tomboloString String
highlight default link tomboloNumber Number
highlight default link tomboloConstant Constant
highlight default link tomboloBlock Keyword
highlight default link tomboloArgument Identifier
highlight default link tomboloFunction Function
highlight default link tomboloReference Special
let b:current_syntax = "tombolo"
