/** The release of the package. The interface description has a version of its own. */
export const version: string = "1.1.0";
