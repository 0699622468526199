// Command provider reduces the source of Terraform's AWS provider to the services that Varve's
// modules use. The full source takes half an hour to build, and the reduced source takes a few
// minutes. The argument is the folder with a copy of the source, which the command changes.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// services lists the services that the modules or the provider itself need. The names are names
// of packages in the provider and the SDK.
var services = []string{
	"account", "appautoscaling", "applicationautoscaling", "cloudwatch", "cloudwatchlogs", "dynamodb", "ec2", "ecs", "eventbridge", "events",
	"iam", "iot", "kinesis", "kms", "lambda", "logs", "meta", "organizations", "s3", "s3control", "scheduler", "sns", "ssm", "sts",
}

func main() {
	if err := reduce(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // only main may exit
	}
}

func reduce(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: provider FOLDER")
	}
	for _, file := range []string{"internal/provider/sdkv2/service_packages_gen.go", "internal/conns/awsclient_gen.go"} {
		if err := cut(filepath.Join(args[0], file)); err != nil {
			return err
		}
	}
	return nil
}

// cut removes the code for all services, except the wanted ones, from a file.
func cut(path string) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if list, ok := n.(*ast.CompositeLit); ok {
			list.Elts = slices.DeleteFunc(list.Elts, func(e ast.Expr) bool {
				call, ok := e.(*ast.CallExpr)
				return ok && !wanted(packageOf(call.Fun))
			})
		}
		return true
	})
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv != nil && len(fn.Type.Results.List) == 1 && !wanted(clientOf(fn.Type.Results.List[0].Type))
	})
	dropImports(f)
	var out bytes.Buffer
	if err := format.Node(&out, files, f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func wanted(service string) bool { return service == "" || slices.Contains(services, service) }

// packageOf returns x if the expression is x.y, otherwise "".
func packageOf(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name
		}
	}
	return ""
}

// clientOf returns x if the expression is *x.Client, otherwise "".
func clientOf(e ast.Expr) string {
	star, ok := e.(*ast.StarExpr)
	if !ok {
		return ""
	}
	if s, ok := star.X.(*ast.SelectorExpr); !ok || s.Sel.Name != "Client" {
		return ""
	}
	return packageOf(star.X)
}

// dropImports removes the imports that a file no longer uses.
func dropImports(f *ast.File) {
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			used[packageOf(e)] = true
		}
		return true
	})
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool {
			imp, ok := s.(*ast.ImportSpec)
			return ok && !used[nameOf(imp)]
		})
	}
}

func nameOf(imp *ast.ImportSpec) string {
	if imp.Name != nil {
		return imp.Name.Name
	}
	path, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		return "" // the parser has checked that the text is valid
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}
