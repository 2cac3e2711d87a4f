package server

import "net/http"

const Limit = 10

type Server struct {
	addr string
}

type Handler interface {
	Handle(r *http.Request) error
}

type Names = []string

func New(addr string) *Server {
	return &Server{addr: addr}
}

func (s *Server) Run(stop <-chan struct{}) (int, error) {
	return 0, nil
}
