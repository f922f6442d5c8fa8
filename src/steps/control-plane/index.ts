export { waitForMasters } from './wait-for-masters.ts';
