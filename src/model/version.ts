/** Version of the program, the same as in package.json. */
export const version = '1.1.0';

/** How the program names itself to every server and proxy. */
export const userAgent = `bootwright/${version}`;
