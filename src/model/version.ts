/** Version of the program, the same as in package.json. */
export const version = '1.1.0';

declare const builtFrom: string | undefined;

/**
 * The commit that the program was built from, or that scripts/bootwright names of its clone; empty
 * where neither is known.
 */
export const commit = typeof builtFrom === 'string' ? builtFrom : '';

/** The releases of OpenShift that can be installed: docs/guides/supported.md. */
export const supportedReleases = { first: '4.14', last: '5.0' } as const;

/** How the program names itself to every server and proxy. */
export const userAgent = `bootwright/${version}`;
