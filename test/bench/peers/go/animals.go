package main

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"sort"
	"sync"
	"syscall"
)

// Pet is an animal as returned.
type Pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// animals are kept in memory, over a log of one line an animal.
type animals struct {
	mutex    sync.RWMutex
	pets     []Pet
	byStatus map[string][]int64
	file     *os.File
}

func (s *animals) page(limit int, after int64, status string) (page []Pet, hasMore bool) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	page = make([]Pet, 0, limit)
	if status == "" {
		for index := after; index < int64(len(s.pets)); index++ {
			if len(page) == limit {
				return page, true
			}
			page = append(page, s.pets[index])
		}
		return page, false
	}
	ids := s.byStatus[status]
	first := sort.Search(len(ids), func(index int) bool { return ids[index] > after })
	for _, id := range ids[first:] {
		if len(page) == limit {
			return page, true
		}
		page = append(page, s.pets[id-1])
	}
	return page, false
}

func (s *animals) one(id int64) (pet Pet, isKnown bool) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	if id < 1 || id > int64(len(s.pets)) {
		return Pet{}, false
	}
	return s.pets[id-1], true
}

// add returns when the animal is on disk.
func (s *animals) add(pet Pet) (Pet, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	pet.ID = int64(len(s.pets) + 1)
	line, err := json.Marshal(pet)
	if err != nil {
		return pet, err
	}
	if _, err = s.file.Write(append(line, '\n')); err != nil {
		return pet, err
	}
	if err = syscall.Fdatasync(int(s.file.Fd())); err != nil {
		return pet, err
	}
	s.keep(pet)
	return pet, nil
}

func (s *animals) keep(pet Pet) {
	s.pets = append(s.pets, pet)
	s.byStatus[pet.Status] = append(s.byStatus[pet.Status], pet.ID)
}

func (s *animals) importAnimals(path string) {
	source, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	decoder := json.NewDecoder(source)
	for {
		var pet Pet
		if err := decoder.Decode(&pet); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		pet.ID = int64(len(s.pets) + 1)
		line, err := json.Marshal(pet)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := s.file.Write(append(line, '\n')); err != nil {
			log.Fatal(err)
		}
		s.keep(pet)
	}
	if err := syscall.Fdatasync(int(s.file.Fd())); err != nil {
		log.Fatal(err)
	}
}
