/** Version of the program, the same as in package.json. */
export const version = '1.1.0';

declare const builtFrom: string | undefined;

/**
 * The commit that the program was built from, or the one that scripts/bootwright reads from its
 * clone; empty if unknown.
 */
export const commit = typeof builtFrom === 'string' ? builtFrom : '';

/** The releases of OpenShift that Bootwright can install: docs/guides/supported.md. */
export const supportedReleases = { first: '4.14', last: '5.0' } as const;

/** The User-Agent header for every server and proxy. */
export const userAgent = `bootwright/${version}`;
