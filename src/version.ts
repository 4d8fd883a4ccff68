/** The release, and the version of the interface description. */
export const version: string = "1.0.0";
