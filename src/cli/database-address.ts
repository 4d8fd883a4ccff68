/** The address of a database, as an operator gives it. It may contain a password, so it is printed only masked. */

import { isPercentEncoded } from "../base/texts.ts";

/** @throws {RangeError} saying what it must be */
export function parseDatabaseAddress(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text)) {
    throw new RangeError("must begin with postgres:// or postgresql://");
  }
  const atSigns = text.split("@").length - 1;
  const hasStrayCharacter = atSigns > 1 || /[#\s\0]/.test(text) || /[/?].*@/.test(text.slice(text.indexOf("//") + 2));
  // Without a host there is a socket: postgres://app@/store?host=/run/postgresql
  if (hasStrayCharacter || !URL.canParse(text.replace("@/", "@localhost/")) || !isPercentEncoded(text)) {
    throw new RangeError(
      "must be a URL such as postgres://app@localhost:5432/store; " +
        "in a password, percent-encode all but letters and digits",
    );
  }
  connectTimeoutMs(text);
  return text;
}

/**
 * How long opening a connection may take, by the member `connect_timeout`, in seconds as for `psql`; undefined without
 * one.
 * @throws {RangeError} it is no such number
 */
export function connectTimeoutMs(address: string): number | undefined {
  const seconds = membersOf(address).get("connect_timeout");
  if (seconds !== null && !/^[1-9]\d{0,2}$/.test(seconds)) {
    throw new RangeError("its connect_timeout must be 1 to 999 seconds");
  }
  return seconds === null ? undefined : Number(seconds) * 1_000;
}

/** The members of an address that the package `pg` reads, and `connect_timeout`. */
const usedMembers: ReadonlySet<string> = new Set([
  "host", "port", "user", "password", "database", "application_name", "fallback_application_name", "client_encoding",
  "options", "ssl", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslnegotiation", "uselibpqcompat", "replication",
  "statement_timeout", "lock_timeout", "query_timeout", "idle_in_transaction_session_timeout", "connect_timeout",
]);

/** Returns a warning for each member of the address that has no effect, as others of `psql` have none. */
export function unusedMembers(address: string): string[] {
  return [...new Set(membersOf(address).keys())]
    .filter((name) => !usedMembers.has(name))
    .map((name) => `the member ${name} of the database's address has no effect`);
}

function membersOf(address: string): URLSearchParams {
  return new URLSearchParams(/\?(.*)$/s.exec(address)?.[1] ?? "");
}

/**
 * `postgres://app:***@host/name`, for any text. What is between the first colon and the last `@` may be a password, as
 * may a query. A text of another form is masked whole.
 */
export function maskedAddress(text: string): string {
  const [, start, userInfo, rest = ""] = /^(postgres(?:ql)?:\/\/)(?:(.*)@)?(.*)$/s.exec(text) ?? [];
  const place = /^((?:\[[\da-f:.]*\]|[^?#:/]*)(?::\d{0,5})?(?:\/[^?#]*)?)(\?.*)?$/s.exec(rest);
  if (start === undefined || place === null) {
    return "***";
  }
  const [user, password] = userInfo?.split(/:(.*)/s) ?? [];
  const who = user === undefined ? "" : `${user}${password === undefined ? "" : ":***"}@`;
  return `${start}${who}${place[1] ?? ""}${place[2] === undefined ? "" : "?***"}`;
}

/** The text with every address in it masked. Where it is JSON, the end of the string stays. */
export function withoutPasswords(text: string): string {
  return text.replaceAll(/postgres(?:ql)?:\/\/\S*[^\s:;,"\\}]/g, maskedAddress);
}
