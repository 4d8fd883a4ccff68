/** The release of the package. The interface description has a version of its own. */
export const release = "4.0.0";
