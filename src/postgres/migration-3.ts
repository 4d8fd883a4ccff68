/** Migration 3: animals may change their status. With the functions of release 2.0. */

export const migration3 = `
-- The status that the animal was added with; null if no change of it was ever kept.
ALTER TABLE animal_store.pets ADD COLUMN added text COLLATE "C";

-- A change leaves an entry of the index by status behind, which lists pass over until a vacuum removes it.
ALTER TABLE animal_store.pets SET (autovacuum_vacuum_scale_factor = 0.02);

-- Of a change, the status that it was to; null for a create.
ALTER TABLE animal_store.once ADD COLUMN status text COLLATE "C";
`;
