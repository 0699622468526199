# Fetches the tools for the tests of the Terraform modules into the user's cache: Terraform's AWS
# provider, tflint with its rules for AWS, and terraform-docs. A tool in the cache is not fetched
# again. With --if-cached, the script fetches nothing, and exits with 3 if a tool is missing.
set -eu
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/varve/terraform
version=6.34.0
module=github.com/upbound/terraform-provider-aws@v0.0.0-20260305123303-f7691456b787
arch=$(go env GOARCH)

say() { echo "terraform tests: $*"; }

# absent FILE succeeds if the file is missing and must be fetched. With --if-cached, it ends the
# script with code 3 if the file is missing.
absent() {
	[ ! -e "$1" ] || return 1
	[ "${only_cached:-}" = "" ] || exit 3
}
[ "${1:-}" != --if-cached ] || only_cached=yes

work=$cache/work.$$
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT INT TERM
mkdir -p "$cache" "$work"

# tool NAME PACKAGE LINK builds a tool from the module version in tools/go.mod, unless the cache has it,
# and links it to the path LINK in the cache.
tool() {
	pinned=$(sed -n "s|^[[:space:]]*$2 v\([^ ]*\).*|\1|p" tools/go.mod)
	if absent "$cache/$1-$pinned"; then
		say "building $1 $pinned, once; it takes a minute or two"
		go build -C tools -trimpath -ldflags '-s -w' -o "$work/$1" "$2"
		mv "$work/$1" "$cache/$1-$pinned"
	fi
	mkdir -p "$(dirname "$cache/$3")"
	ln -sf "$cache/$1-$pinned" "$cache/$3"
}
tool terraform-docs github.com/terraform-docs/terraform-docs bin/terraform-docs
tool tflint github.com/terraform-linters/tflint bin/tflint
tool tflint-ruleset-aws github.com/terraform-linters/tflint-ruleset-aws plugins/tflint-ruleset-aws

# The provider is downloaded from Terraform's registry, or built from its Go modules. The name of the
# mirror changes with the services that the built provider has.
mirror=$cache/mirror-$version-$(cksum provider/main.go | cut -d ' ' -f 1)
if absent "$mirror"; then
	mkdir "$work/probe"
	cat >"$work/probe/main.tf" <<-EOF
		terraform {
		  required_providers {
		    aws = {
		      source  = "hashicorp/aws"
		      version = "$version"
		    }
		  }
		}
	EOF
	export TF_CLI_CONFIG_FILE=/dev/null CHECKPOINT_DISABLE=1
	say "fetching the AWS provider $version from Terraform's registry, once; it takes a minute"
	mkdir "$work/mirror"
	if ! terraform -chdir="$work/probe" providers mirror -platform="linux_$arch" "$work/mirror" >"$work/log" 2>&1; then
		say "the registry does not answer; building the provider from Go modules, reduced to the used services; it takes 3 to 10 minutes"
		rm -rf "$work/mirror"
		(cd provider && go mod download "$module") # checked by provider/go.sum
		source=$(cd provider && go mod download -json "$module" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
		cp -R "$source" "$work/source"
		chmod -R u+w "$work/source"
		(cd provider && go run . "$work/source")
		# A mirror has a folder for each provider, named after the provider's address in
		# Terraform.
		address=$(terraform -chdir="$work/probe" providers | sed -n 's/.*provider\[\(.*\)\].*/\1/p')
		folder=$work/mirror/$address/$version/linux_$arch
		mkdir -p "$folder"
		go build -C "$work/source" -buildvcs=false -trimpath -ldflags '-s -w' -o "$folder/terraform-provider-aws_v${version}_x5" .
	fi
	mv "$work/mirror" "$mirror"
fi
ln -sfn "$mirror" "$cache/mirror"
cat >"$work/terraformrc" <<EOF
disable_checkpoint = true
provider_installation {
  filesystem_mirror {
    path = "$cache/mirror"
  }
}
EOF
mv "$work/terraformrc" "$cache/terraformrc"
