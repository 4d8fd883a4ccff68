// The tests that a store of your own must pass: node --test own-store.test.js

import { ExampleEngine, ExampleStore, testPetStore, testStatusChanges } from "animal-store/testing";

/** A new, empty place for animals. A test may open stores on it one after another: each finds what the last one kept. */
async function createPlace() {
  const engine = new ExampleEngine(); // In place of this: a database of its own, or a new folder.
  return {
    open: async () => new ExampleStore(engine), // Your store.
    remove: async () => {}, // Drop the database, or delete the folder.
  };
}

testPetStore("my store", createPlace);
testStatusChanges("my store", createPlace); // If it has changeStatus.
