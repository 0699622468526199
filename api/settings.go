package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
)

type settingsHandler struct {
	list func() []wire.SettingBody // if nil, the list is empty
}

func (h *settingsHandler) addRoutes(o *operations) {
	huma.Register(o.api, huma.Operation{
		OperationID: "list-settings", Method: http.MethodGet, Path: "/v1/settings", Summary: "The settings in force, each with its default and its origin",
		Description: "Passwords and tokens are hidden. Secrets in files and variables are never read for it.", Tags: []string{"operation"},
	}, h.listSettings)
}

func (h *settingsHandler) listSettings(context.Context, *struct{}) (*reply[wire.SettingList], error) {
	body := wire.SettingList{Settings: []wire.SettingBody{}}
	if h.list != nil {
		body.Settings = append(body.Settings, h.list()...)
	}
	return &reply[wire.SettingList]{body}, nil
}
