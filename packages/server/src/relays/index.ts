/** Relay providers: the front door. Routes are mounted by `create.ts`. */
export { accountPlaceOf, testAccountOf } from './accounts/account.ts'
export { type CalledBack, findAccountByToken, loadAccount } from './accounts/load-account.ts'
export { listRelayKinds } from './accounts/store.ts'
export { adapterOf } from './adapters.ts'
export { createRelayCalls, type Relays, type RelaysDeps } from './call-relays.ts'
export {
  type CallbackReader,
  callbackInPlaceBytesMax,
  createCallbackReader,
} from './callbacks/callback-reader.ts'
export { withoutStatus } from './failure.ts'
export type {
  ObservedRequest,
  RelayCallOptions,
  RelayResult,
} from './make-request.ts'
export type {
  CallbackRequest,
  CallbackSecrets,
  DeliverCallback,
  RelayAccount,
  RelayAdapter,
  RelayAnswer,
  RelayAttachment,
  RelayDomain,
  RelayDomainCall,
  RelayDomainOutcome,
  RelayDomains,
  RelayFact,
  RelayFactKind,
  RelayFailure,
  RelayMail,
  RelayMailbox,
  RelayProvider,
  RelayRecord,
  RelaySendOutcome,
  RelaySimulator,
} from './relay.ts'
export { simulatedBrowser } from './simulator/scenarios.ts'
export { reportLater } from './simulator/simulator.ts'
