import type { IgnitionSource } from './source.ts';

/**
 * An object store. One config for each role, at `BUCKET/CLUSTER_ID/<role>.ign`, as the install
 * command of 2020 had it.
 */
export const fromS3: IgnitionSource = ({ objects }, { s3, cluster }, { role, signal }) =>
  objects.get(s3.bucket, `${cluster.id}/${role}.ign`, signal);
