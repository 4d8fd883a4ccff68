/** Migration 2: the time of a key's last request, and the functions of release 1.2. */

export const migration2 = `
ALTER TABLE animal_store.limits ADD COLUMN last_at bigint NOT NULL DEFAULT 0;
`;
