// The service's work in Go, with nothing but its standard library: net/http, encoding/json, a map behind a mutex, a
// JSON-lines log with one write and one fdatasync a create or change. Animals are kept in memory, so its reads do not pay for a
// database, as the service's do not.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type newPet struct {
	Name       *string `json:"name"`
	CategoryID *int64  `json:"categoryId"`
	Status     string  `json:"status"`
}

type service struct {
	keys map[string]*key
	animals
}

func (s *service) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	const scheme = "Bearer "
	field := request.Header.Get("Authorization")
	var known *key
	if strings.HasPrefix(field, scheme) {
		known = s.keys[field[len(scheme):]]
	}
	if known == nil {
		sendError(response, 401, "invalid_api_key")
		return
	}
	remaining, reset, isAllowed := known.take(time.Now())
	fields := response.Header()
	fields.Set("X-RateLimit-Limit", strconv.Itoa(known.quota))
	fields.Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
	fields.Set("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
	if !isAllowed {
		fields.Set("Retry-After", strconv.Itoa(int(time.Until(reset)/time.Second)+1))
		sendError(response, 429, "rate_limited")
		return
	}
	switch {
	case request.URL.Path == "/v1/pets" && request.Method == "GET":
		s.list(response, request)
	case request.URL.Path == "/v1/pets" && request.Method == "POST":
		s.create(response, request)
	case strings.HasPrefix(request.URL.Path, "/v1/pets/") && request.Method == "GET":
		s.get(response, request.URL.Path[len("/v1/pets/"):])
	case strings.HasPrefix(request.URL.Path, "/v1/pets/") && request.Method == "PATCH":
		s.changeStatus(response, request, request.URL.Path[len("/v1/pets/"):])
	default:
		sendError(response, 404, "route_not_found")
	}
}

func (s *service) list(response http.ResponseWriter, request *http.Request) {
	limit, after, status := 20, 0, ""
	for name, values := range request.URL.Query() {
		var err error
		switch name {
		case "limit":
			limit, err = strconv.Atoi(values[0])
		case "after":
			after, err = strconv.Atoi(values[0])
		case "status":
			status = values[0]
		}
		if err != nil {
			limit = 0
		}
	}
	if limit < 1 || limit > 100 || after < 0 || (status != "" && !isStatus(status)) {
		sendError(response, 400, "invalid_parameter")
		return
	}
	page, hasMore := s.page(limit, int64(after), status)
	if hasMore {
		filter := ""
		if status != "" {
			filter = "&status=" + status
		}
		next := fmt.Sprintf("</v1/pets?limit=%d%s&after=%d>; rel=\"next\"", limit, filter, page[len(page)-1].ID)
		response.Header().Set("Link", next)
	}
	respond(response, 200, page)
}

func (s *service) get(response http.ResponseWriter, text string) {
	id, err := strconv.ParseInt(text, 10, 64)
	pet, isKnown := s.one(id)
	if err != nil || !isKnown {
		sendError(response, 404, "pet_not_found")
		return
	}
	respond(response, 200, pet)
}

func (s *service) create(response http.ResponseWriter, request *http.Request) {
	decoder := json.NewDecoder(http.MaxBytesReader(response, request.Body, 16384))
	decoder.DisallowUnknownFields()
	body := newPet{Status: "available"}
	err := decoder.Decode(&body)
	if err != nil || body.Name == nil || *body.Name == "" || body.CategoryID == nil || !isStatus(body.Status) {
		sendError(response, 400, "invalid_body")
		return
	}
	pet, err := s.add(Pet{Name: *body.Name, CategoryID: *body.CategoryID, Status: body.Status})
	if err != nil {
		sendError(response, 503, "storage_unavailable")
		return
	}
	response.Header().Set("Location", "/v1/pets/"+strconv.FormatInt(pet.ID, 10))
	respond(response, 201, pet)
}

func (s *service) changeStatus(response http.ResponseWriter, request *http.Request, text string) {
	decoder := json.NewDecoder(http.MaxBytesReader(response, request.Body, 16384))
	decoder.DisallowUnknownFields()
	var body struct {
		Status string `json:"status"`
	}
	if err := decoder.Decode(&body); err != nil || !isStatus(body.Status) {
		sendError(response, 400, "invalid_body")
		return
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if _, isKnown := s.one(id); err != nil || !isKnown {
		sendError(response, 404, "pet_not_found")
		return
	}
	ifMatch := request.Header.Get("If-Match")
	if ifMatch == "" {
		sendError(response, 428, "precondition_required")
		return
	}
	pet, isChanged, err := s.change(id, body.Status, ifMatch)
	if err != nil {
		sendError(response, 503, "storage_unavailable")
		return
	}
	response.Header().Set("ETag", tagOf(pet))
	if !isChanged {
		sendError(response, 412, "precondition_failed")
		return
	}
	respond(response, 200, pet)
}

func respond(response http.ResponseWriter, status int, value any) {
	content, err := json.Marshal(value)
	if err != nil {
		status, content = 500, []byte(`{"code":"internal_error","message":"internal_error","status":500}`)
	}
	fields := response.Header()
	fields.Set("Content-Type", "application/json; charset=utf-8")
	fields.Set("Content-Length", strconv.Itoa(len(content)))
	response.WriteHeader(status)
	_, _ = response.Write(content) // A client that has left needs no response.
}

func sendError(response http.ResponseWriter, status int, code string) {
	respond(response, status, map[string]any{"code": code, "message": code, "status": status})
}

func isStatus(status string) bool {
	return status == "available" || status == "pending" || status == "sold"
}

func main() {
	data := flag.String("data", ".", "folder of the log")
	source := flag.String("animals", "", "JSON lines of NewPet, imported before it listens")
	keys := flag.String("keys", "", "KEY=QUOTA,...")
	flag.Parse()
	file, err := os.OpenFile(filepath.Join(*data, "pets.jsonl"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		log.Fatal(err)
	}
	s := &service{keys: map[string]*key{}, animals: animals{byStatus: map[string][]int64{}, file: file}}
	for _, pair := range strings.Split(*keys, ",") {
		name, quotaText, _ := strings.Cut(pair, "=")
		quota, err := strconv.Atoi(quotaText)
		if err != nil {
			log.Fatal(err)
		}
		s.keys[name] = &key{quota: quota, windows: [2]window{{length: time.Minute}, {length: 24 * time.Hour}}}
	}
	s.importAnimals(*source)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s/v1\n", listener.Addr())
	log.Fatal(http.Serve(listener, s))
}
