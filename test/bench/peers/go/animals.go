package main

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"sort"
	"strings"
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

// animals are kept in memory, over a log of one line an animal, and one a change.
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
	for _, id := range ids[indexAfter(ids, after):] {
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
	if err := s.write(pet); err != nil {
		return pet, err
	}
	s.keep(pet)
	return pet, nil
}

// change returns when the status is on disk, or at once if ifMatch, a list of tags without "*", does not name the present
// one. The animal must be known.
func (s *animals) change(id int64, status string, ifMatch string) (pet Pet, isChanged bool, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	pet = s.pets[id-1]
	if !strings.Contains(ifMatch, tagOf(pet)) {
		return pet, false, nil
	}
	before := pet.Status
	pet.Status = status
	if err := s.write(pet); err != nil {
		return pet, false, err
	}
	s.pets[id-1] = pet
	ids := s.byStatus[before]
	at := indexAfter(ids, id-1)
	s.byStatus[before] = append(ids[:at], ids[at+1:]...)
	ids = append(s.byStatus[status], 0)
	at = indexAfter(ids[:len(ids)-1], id)
	copy(ids[at+1:], ids[at:])
	ids[at] = id
	s.byStatus[status] = ids
	return pet, true, nil
}

func tagOf(pet Pet) string {
	return `"` + pet.Status + `"`
}

func indexAfter(ids []int64, id int64) int {
	return sort.Search(len(ids), func(index int) bool { return ids[index] > id })
}

// write returns when the line is on disk.
func (s *animals) write(pet Pet) error {
	line, err := json.Marshal(pet)
	if err != nil {
		return err
	}
	if _, err = s.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return syscall.Fdatasync(int(s.file.Fd()))
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
