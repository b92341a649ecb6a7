/** Doors that are relay providers: what they report, and what their APIs answer. */
import { createRelayScene, type ProviderKind } from '../relay-scene.ts'
import { eventsOf } from '../world.ts'
import { bombInputs } from './bomb-inputs.ts'
import { type Door, type DoorDeps, KIB, WAIT_MS } from './door.ts'
import { latin1, postRaw } from './send-http.ts'

export async function openRelayDoors(deps: DoorDeps): Promise<readonly Door[]> {
  const kinds: readonly ProviderKind[] = ['sparkpost', 'sendgrid']
  const doors: Door[] = []
  // Scenes that are made at the same time share one domain.
  for (const kind of kinds)
    doors.push(
      await callbackDoor(deps, kind),
      await sendingDoor(deps, kind),
      await domainDoor(deps, kind),
    )
  return doors
}

/** With the secret of the provider, or signed by it. */
async function callbackDoor({ world, dns }: DoorDeps, kind: ProviderKind): Promise<Door> {
  const scene = await createRelayScene({ world, dns, kind }, { isVerified: false })
  const { pathname } = new URL(scene.callbackUrl)
  return {
    name: `callbacks of ${kind}`,
    inputs: bombInputs([`${kind} callback`], 3_500 * KIB),
    async enter(text) {
      const signature = scene.provider.signatureOf(latin1(text))
      const answer = await postRaw(world.service().port, pathname, text, signature)
      // Stored, or not what this provider sends, or read behind the answer on a slow machine.
      return /^HTTP\/1\.1 (?:200|400) |^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: /i.test(answer)
    },
  }
}

/** Answers to a mail that is sent. Of a status that says that it is taken, and of one that does not. */
async function sendingDoor({ world, dns }: DoorDeps, kind: ProviderKind): Promise<Door> {
  const scene = await createRelayScene({ world, dns, kind })
  const { provider, receiver, send } = scene
  let n = 0
  return {
    name: `answers of ${kind} to a mail`,
    inputs: bombInputs(['relay answer'], 60 * KIB),
    async enter(text) {
      n += 1
      const status = n % 2 === 0 ? 400 : 200
      let isGiven = false
      provider.setScript(() => {
        isGiven = true
        return { status, body: latin1(text), headers: headersOf(text) }
      })
      const refId = await send([`ada${n}`], { maxAttempts: 1 })
      await receiver.waitUntil(
        (requests) => isGiven && eventsOf(requests).some(({ details }) => details.ref_id === refId),
        WAIT_MS,
      )
      return isGiven
    },
    close: async () => provider.setScript(undefined),
  }
}

/** Answers to the question whether a domain is verified. */
async function domainDoor({ world, dns }: DoorDeps, kind: ProviderKind): Promise<Door> {
  const { provider, client, domain } = await createRelayScene({ world, dns, kind })
  let n = 0
  return {
    name: `answers of ${kind} about a domain`,
    inputs: bombInputs(['relay answer'], 60 * KIB),
    async enter(text) {
      n += 1
      const status = n % 2 === 0 ? 400 : 200
      let isGiven = false
      provider.setScript(() => {
        isGiven = true
        return { status, body: latin1(text), headers: headersOf(text) }
      })
      await client.verifyDomain(domain.domain)
      return isGiven
    },
    close: async () => provider.setScript(undefined),
  }
}

/** Those that are read. */
function headersOf(text: string): Readonly<Record<string, string>> {
  const value = text.slice(0, 4 * KIB).replaceAll(/[^\t\x20-\x7e]/g, '.')
  return { 'x-message-id': value, 'retry-after': value, 'content-type': 'application/json' }
}
