/** Version of the program, the same as in package.json. */
export const version = '1.1.0';

/** Where the documents of the project are published, as `npm run docs:site` makes them. */
export const documentation = 'https://bootwright.io/docs';

/** How the program names itself to every server and proxy. */
export const userAgent = `bootwright/${version}`;
