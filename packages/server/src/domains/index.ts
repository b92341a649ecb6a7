/** The front door of domains: names, what proves ownership of one, and how that is looked up. */
export { checkName, readName } from './check-name.ts'
export { findOwnershipProof } from './claim-store.ts'
export { decideRecord } from './decide-record.ts'
export { type DomainKey, dkimPlaceOf, type RecordState } from './domain.ts'
export { type DomainRecord, ownershipRecord, recordKeyOf } from './list-records.ts'
export type { Matches } from './look-up-records.ts'
export { matchRecord } from './match-record.ts'
