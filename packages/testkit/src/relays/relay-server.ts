/**
 * What the fakes of relay providers have in common: an account with a key, mails that are taken, what
 * becomes of them, and the reports of it.
 */
import {
  type CallbackBatch,
  type CallbackManner,
  type CallbackShape,
  type Caller,
  createCaller,
} from './callbacks.ts'
import { createHttpPeer, type PeerReply, type PeerRequest, type PeerScript } from './http-peer.ts'

export interface RelayServer<Mail, Step, Shape extends CallbackShape> {
  readonly origin: string
  readonly apiKey: string
  readonly requests: readonly PeerRequest[]
  readonly mails: readonly Mail[]
  /** What was posted to the webhook, pings and tests among it. */
  readonly batches: readonly CallbackBatch[]
  readonly cutOff: number
  setApiKey(apiKey: string): void
  setScript(script: PeerScript | undefined): void
  cutBodies(count: number): void
  /** What becomes of a mail, in order. */
  setFate(fate: ((mail: Mail) => readonly Step[]) | undefined): void
  /** How events are posted from now on; `manual`: only by `callBack`. */
  setCallbacks(shape: Shape | 'manual'): void
  /** Events of a mail as they would be posted. */
  eventsOf(mail: Mail, steps: readonly Step[]): unknown[]
  /** Posts what has gathered, or these events. */
  callBack(o?: Shape & { readonly events?: readonly unknown[] }): Promise<CallbackBatch[]>
  waitForMails(count: number, timeoutMs?: number): Promise<readonly Mail[]>
  waitUntil(isMet: () => boolean, timeoutMs?: number): Promise<void>
  /** Once nothing that was to be posted is under way. */
  callbacksSettled(timeoutMs?: number): Promise<void>
  close(): Promise<void>
}

export interface RelayServerOptions<Mail, Step, Shape extends CallbackShape> {
  readonly apiKey: string
  /** What becomes of a mail unless told otherwise. */
  readonly delivered: readonly Step[]
  readonly eventOf: (step: Step, mail: Mail, nowMs: number) => unknown
  /** Undefined while nobody is to be called. */
  readonly mannerOf: (shape: Partial<Shape>) => CallbackManner | undefined
  /** Of a request that is not taken up, whatever it asks for. */
  readonly findRefusal: (request: PeerRequest, apiKey: string) => PeerReply | undefined
  readonly takeUp: (request: PeerRequest) => PeerReply | Promise<PeerReply>
}

export interface Relay<Mail, Step, Shape extends CallbackShape> {
  readonly server: RelayServer<Mail, Step, Shape>
  /** They are sent, and their events are reported. */
  take(mails: readonly Mail[]): void
  readonly postTo: Caller<Shape>['postTo']
}

export async function createRelayServer<Mail, Step, Shape extends CallbackShape>(
  o: RelayServerOptions<Mail, Step, Shape>,
): Promise<Relay<Mail, Step, Shape>> {
  const mails: Mail[] = []
  const caller = createCaller<Shape>(o.mannerOf)
  let { apiKey } = o
  let fate: ((mail: Mail) => readonly Step[]) | undefined

  const eventsOf = (mail: Mail, steps: readonly Step[]) =>
    steps.map((step) => o.eventOf(step, mail, Date.now()))
  const peer = await createHttpPeer(
    (request) => o.findRefusal(request, apiKey) ?? o.takeUp(request),
  )

  const server: RelayServer<Mail, Step, Shape> = {
    origin: peer.origin,
    get apiKey() {
      return apiKey
    },
    requests: peer.requests,
    mails,
    batches: caller.batches,
    get cutOff() {
      return peer.cutOff
    },
    setApiKey(next) {
      apiKey = next
    },
    setScript: peer.setScript,
    cutBodies: peer.cutBodies,
    setFate(next) {
      fate = next
    },
    setCallbacks: caller.setShape,
    eventsOf,
    callBack: caller.post,
    async waitForMails(count, timeoutMs) {
      await peer.waitUntil(() => mails.length >= count, timeoutMs)
      return mails
    },
    waitUntil: peer.waitUntil,
    callbacksSettled: caller.settled,
    async close() {
      caller.close()
      await peer.close()
    },
  }
  return {
    server,
    take(taken) {
      for (const mail of taken) {
        mails.push(mail)
        caller.gather(eventsOf(mail, fate?.(mail) ?? o.delivered))
      }
    },
    postTo: caller.postTo,
  }
}
