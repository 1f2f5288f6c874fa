// Writes types.txt and inner.txt, as Go's reflection shows the types of Kubernetes. In a module that requires
// k8s.io/kubernetes (for which the replacements of its go.mod are needed):
//
//	go run tables.go types > types.txt
//	go run tables.go inner > inner.txt
package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	admission "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	batch "k8s.io/api/batch/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	scheduling "k8s.io/api/scheduling/v1"
	schedulingbeta "k8s.io/api/scheduling/v1beta1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	inner "k8s.io/kubernetes/pkg/apis/core"
)

var kinds = []any{
	core.Namespace{}, core.Node{}, core.Pod{}, core.Service{}, core.ConfigMap{}, core.Secret{}, core.ServiceAccount{},
	core.Event{}, core.Binding{}, events.Event{}, apps.Deployment{}, apps.ReplicaSet{}, apps.StatefulSet{},
	apps.DaemonSet{}, apps.ControllerRevision{}, batch.Job{}, batch.CronJob{}, policy.PodDisruptionBudget{},
	policy.Eviction{}, coordination.Lease{}, scheduling.PriorityClass{}, schedulingbeta.PodGroup{},
	extensions.CustomResourceDefinition{}, admission.ValidatingWebhookConfiguration{},
	admission.MutatingWebhookConfiguration{}, rbac.Role{}, rbac.RoleBinding{}, rbac.ClusterRole{},
	rbac.ClusterRoleBinding{}, autoscaling.Scale{}, authorization.SelfSubjectAccessReview{},
	authorization.SelfSubjectRulesReview{}, authentication.SelfSubjectReview{},
}

var special = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                       "quantity",
	reflect.TypeFor[intstr.IntOrString]():                      "intstr",
	reflect.TypeFor[meta.Time]():                               "time",
	reflect.TypeFor[meta.MicroTime]():                          "microtime",
	reflect.TypeFor[meta.FieldsV1]():                           "any",
	reflect.TypeFor[runtime.RawExtension]():                    "any",
	reflect.TypeFor[extensions.JSON]():                         "any",
	reflect.TypeFor[extensions.JSONSchemaPropsOrArray]():       "any",
	reflect.TypeFor[extensions.JSONSchemaPropsOrBool]():        "any",
	reflect.TypeFor[extensions.JSONSchemaPropsOrStringArray](): "any",
	reflect.TypeFor[[]byte]():                                  "bytes",
}

var out = map[string][]string{}

func written(of reflect.Type) string {
	if word, ok := special[of]; ok {
		return word
	}
	switch of.Kind() {
	case reflect.Pointer:
		return "*" + written(of.Elem())
	case reflect.Slice:
		return "[]" + written(of.Elem())
	case reflect.Map:
		return "{}" + written(of.Elem())
	case reflect.Interface:
		return "any"
	case reflect.Struct:
		parts := strings.Split(of.PkgPath(), "/")
		name := strings.Join(parts[len(parts)-2:], "/") + "." + of.Name()
		if _, known := out[name]; !known {
			out[name] = nil
			out[name] = writtenFields(of)
		}
		return name
	default:
		return of.Kind().String()
	}
}

func writtenFields(of reflect.Type) (lines []string) {
	for i := range of.NumField() {
		field := of.Field(i)
		options := strings.Split(field.Tag.Get("json"), ",")
		if options[0] == "-" || (!field.IsExported() && !field.Anonymous) {
			continue
		}
		if field.Anonymous && options[0] == "" {
			lines = append(lines, writtenFields(field.Type)...)
			continue
		}
		marks := ""
		if slices.Contains(options, "omitempty") {
			marks += "?"
		}
		if slices.Contains(options, "omitzero") {
			marks += "~"
		}
		lines = append(lines, fmt.Sprintf("  %s %s%s", options[0], marks, written(field.Type)))
	}
	return
}

func within(of, outer reflect.Type) string {
	if word, ok := special[of]; ok {
		return word
	}
	switch of.Kind() {
	case reflect.Pointer:
		return "*" + within(of.Elem(), outer.Elem())
	case reflect.Slice:
		return "[]" + within(of.Elem(), outer.Elem())
	case reflect.Map:
		return "{}" + within(of.Elem(), outer.Elem())
	case reflect.Struct:
		if strings.HasSuffix(of.PkgPath(), "meta/v1") {
			return "meta/v1." + of.Name()
		}
		if _, known := out[of.Name()]; !known {
			out[of.Name()] = nil
			out[of.Name()] = withinFields(of, outer)
		}
		return of.Name()
	default:
		return of.Kind().String()
	}
}

func withinFields(of, outer reflect.Type) (lines []string) {
	for i := range of.NumField() {
		field := of.Field(i)
		same, found := outer.FieldByName(field.Name)
		if !found || strings.HasSuffix(field.Type.PkgPath(), "meta/v1") && field.Anonymous {
			continue
		}
		if field.Anonymous {
			lines = append(lines, withinFields(field.Type, same.Type)...)
			continue
		}
		json := strings.Split(same.Tag.Get("json"), ",")[0]
		lines = append(lines, fmt.Sprintf("  %s %s %s", field.Name, json, within(field.Type, same.Type)))
	}
	return
}

func main() {
	if slices.Contains(os.Args, "inner") {
		within(reflect.TypeFor[inner.PodSpec](), reflect.TypeFor[core.PodSpec]())
	} else {
		for _, kind := range kinds {
			written(reflect.TypeOf(kind))
		}
	}
	names := make([]string, 0, len(out))
	for name := range out {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Println(strings.Join(append([]string{name}, out[name]...), "\n"))
	}
}
