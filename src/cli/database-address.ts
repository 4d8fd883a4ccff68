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
  return text;
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
