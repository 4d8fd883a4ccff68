/**
 * The deprecation of getPet: since when, until when, and what replaces it.
 */

/** Deprecated since release 1.0.0, 2026-11-21 (RFC 9745, 2.1: Unix seconds as a structured Date). */
export const deprecationField = "@1795219200";
/** The date of removal (RFC 8594, 3). */
export const sunsetField = "Thu, 05 Dec 2030 00:00:00 GMT";

/** The fields of every response of getPet's route: name, value, … The link names what replaces it (RFC 5829, 3.2). */
export function retirementFields(linkBase: string): readonly string[] {
  const successor = `<${linkBase}/pets>; rel="successor-version"`;
  return ["Deprecation", deprecationField, "Sunset", sunsetField, "Link", successor];
}
