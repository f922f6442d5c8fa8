/** Where the staging registry keeps what on the host. */
export interface StagingPlaces {
  /** Root file system of the written disk. */
  readonly mount: string;
  /** All that layering puts on the written disk; removed before the host leaves. */
  readonly work: string;
  readonly data: string;
  /** Storage of the program that builds. */
  readonly storage: string;
  /** Contexts of the builds, and what programs keep meanwhile. */
  readonly scratch: string;
}

/** Folder of certificates and credentials on the live system; it goes with it. */
export const secretsFolder = '/opt/bootwright-layering';

/** Where the root file system of the written disk stays mounted while images are built. */
export const stagingMount = '/run/bootwright/staging';

const inTarget = 'ostree/deploy/rhcos/var/lib/bootwright-layering';

/** What lies below a folder that layering has for itself. */
export const placesIn = (work: string): Omit<StagingPlaces, 'mount' | 'work'> => ({
  data: `${work}/registry`,
  storage: `${work}/storage`,
  scratch: `${work}/scratch`,
});

/** The places on the written disk: what is built is larger than the memory that a live system runs from. */
export function stagingPlaces(): StagingPlaces {
  const work = `${stagingMount}/${inTarget}`;
  return { mount: stagingMount, work, ...placesIn(work) };
}

/** Files below the folder of secrets. */
export const secretFiles = {
  /** What the container sees: settings, its certificate and the hashed password. */
  served: `${secretsFolder}/registry`,
  settings: `${secretsFolder}/registry/settings.yml`,
  passwords: `${secretsFolder}/registry/htpasswd`,
  /** The authority, which the container does not see. */
  authority: `${secretsFolder}/authority`,
  /** `ca.crt` alone, as clients want it. */
  certificates: `${secretsFolder}/certificates`,
  authFile: `${secretsFolder}/staging-auth.json`,
  /** The same for curl. */
  curl: `${secretsFolder}/staging-curl`,
  /** The address, so that a later run keeps it. */
  address: `${secretsFolder}/address`,
} as const;
