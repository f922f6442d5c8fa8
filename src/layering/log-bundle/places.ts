/** Where the bundle stays on the host; the service keeps /var/log for the agent's container. */
export const bundleFolder = '/var/log/bootwright-layering';

/**
 * Where a copy of it goes along with the other logs of the host: the sender packs all that lies in this folder
 * (assisted-installer-agent, `src/logs_sender`), whoever starts it, and removes the folder when it is through.
 */
export const folderThatIsSent = (hostId: string): string =>
  `/var/log/logs_host_${hostId}/bootwright-layering`;
