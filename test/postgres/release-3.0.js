/** A database that release 3.0 left: Rex, which is reserved, and Mimi, which was added with a hash; two keys with limits. */

import { readFileSync } from "node:fs";

export const mimi = { name: "Mimi", categoryId: 2n, status: "sold" };
/** The hash of Mimi's creation, and that of the reservation. */
export const hash = "NZ__M3E5B9UZK65qikmz2g";
export const changeHash = "0-4cuXa5zpfWfoRdde3sGw";
/** A key that has used 7 of 60 and 40 of 1,000, and one that is banned. They are worth nothing anywhere else. */
export const [key, bannedKey] = ["as_0L6BT2acHUwkCUWIo8HPprMPz56X1JmVM38mEJdqXRM", "as_7OOJ1L7z3c9Yvfi9kkzd5r1KdNG10yleEDoikePCKlf"];
export const keyId = "key_OWX4KoW79Zkgp6t";

const made = readFileSync(new URL("release-3.0.sql", import.meta.url), "utf8");

/** @param changedTo that column's name: in a database that began with release 2.0 it is `status` @returns its address */
export async function createOld(postgres, changedTo = "changed_to") {
  const url = await postgres.createDatabase();
  await postgres.query(made.replaceAll("changed_to", changedTo), undefined, url);
  return url;
}
