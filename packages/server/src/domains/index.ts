/** The front door of domains: names, what proves ownership of one, and how that is looked up. */
export { checkName, readName } from './add/check-name.ts'
export { decideRecord } from './check/decide-record.ts'
export type { Matches } from './check/look-up-records.ts'
export { matchRecord } from './check/match-record.ts'
export { type DomainKey, dkimPlaceOf, type RecordState } from './domain.ts'
export { type DomainRecord, ownershipRecord, recordKeyOf } from './list-records.ts'
export { findOwnershipProof } from './ownership-store.ts'
export { searchDomains } from './search-store.ts'
