# The plugins are in TFLINT_PLUGIN_DIR: see tests/terraform/tools.sh.
plugin "terraform" {
  enabled = true
  preset  = "all"
}

plugin "aws" {
  enabled = true
}
