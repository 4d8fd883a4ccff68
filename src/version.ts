/** The release, and the version of the interface description (specification, "Versioning"). A test compares both. */
export const version: string = "1.0.0";
