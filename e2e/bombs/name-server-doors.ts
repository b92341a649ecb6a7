/** Doors that are name servers, asked about who sends mail, and about domains of tenants. */
import { createDnsBombs, type DnsAnswer, type DnsServer } from '@postrider/testkit'
import { createRelayScene } from '../relay-scene.ts'
import { bombInputs } from './bomb-inputs.ts'
import { type Door, type DoorDeps, KIB, SEVERAL } from './door.ts'
import { createReceiving } from './receiving.ts'

export async function openNameServerDoors(deps: DoorDeps): Promise<readonly Door[]> {
  return [await senderDoor(deps), await sendingDomainDoor(deps), await inboundDomainDoor(deps)]
}

const inputs: Door['inputs'] = (o) => [
  ...bombInputs(['dns text'], 3 * KIB)(o),
  ...createDnsBombs(o.seed)
    .slice(0, o.count)
    .map((bomb, i) => ({ kind: bomb.kind, name: bomb.name, text: `bomb ${i} ${o.seed}` })),
]

/** Policies that lead to others, all of which the same server has. */
const CHAINS: Readonly<Record<string, string>> = {
  'includes within includes': 'v=spf1 include:a.DOMAIN include:b.DOMAIN include:c.DOMAIN -all',
  'redirects without end': 'v=spf1 redirect=a.%{d}',
  'exchangers of many domains': `v=spf1 ${Array.from({ length: 30 }, (_, i) => `mx:m${i}.DOMAIN`).join(' ')} -all`,
  'addresses of many domains': `v=spf1 ${Array.from({ length: 60 }, (_, i) => `a:a${i}.DOMAIN`).join(' ')} -all`,
  'names of macros': `v=spf1 ${'exists:%{ir}.%{v}.%{l1r-}.%{d2}.DOMAIN '.repeat(20)}-all`,
  'names that are asked backwards': `v=spf1 ${'ptr:DOMAIN '.repeat(20)}-all`,
}

type Answer = Exclude<Parameters<DnsServer['setScript']>[0], undefined>

/** One script for all domains that are asked about at the same time. */
function createAnswers(dns: DnsServer) {
  const answers = new Map<string, Answer>()
  return {
    /** Every name of the domain has the answer. Tells whether it was given. */
    give(domain: string, text: string): () => boolean {
      const { answer, isGiven } = answerFor(domain, text)
      answers.set(domain, answer)
      dns.setScript((asked) => {
        for (let of = asked.name; of !== ''; of = of.split('.').slice(1).join('.')) {
          const found = answers.get(of)
          if (found !== undefined) return found(asked)
        }
        return undefined
      })
      return isGiven
    },
    async clear() {
      answers.clear()
      dns.setScript(undefined)
    },
  }
}

function answerFor(domain: string, text: string) {
  const [, number, seed] = /^bomb (\d+) (\d+)$/.exec(text) ?? []
  const bomb = number === undefined ? undefined : createDnsBombs(Number(seed))[Number(number)]
  let isGiven = false
  const give = (answer: DnsAnswer): DnsAnswer => {
    isGiven = true
    return answer
  }
  const value = text.replaceAll('example.com', domain).replaceAll('DOMAIN', domain)
  const answer: Answer = ({ type }) => {
    if (bomb !== undefined) return give({ raw: bomb.make })
    if (type === 'TXT') return give({ records: [{ type, value }] })
    if (type !== 'MX') return undefined
    const exchangers = Array.from({ length: 100 }, (_, i) => ({ type, value: `m${i}.${domain}` }))
    return give({ records: exchangers })
  }
  return { answer, isGiven: () => isGiven }
}

async function senderDoor(deps: DoorDeps): Promise<Door> {
  const answers = createAnswers(deps.dns)
  const { deliver, settle } = await createReceiving(deps)
  let n = 0
  return {
    name: 'answers of the name servers of a sender',
    atOnce: SEVERAL,
    inputs: (o) => [
      ...inputs(o),
      ...Object.entries(CHAINS).map(([name, text]) => ({ kind: 'spf chain', name, text })),
    ],
    async enter(text) {
      n += 1
      const domain = `bomb${n}.test`
      const isGiven = answers.give(domain, text)
      const isStored = await deliver(
        `From: a@${domain}\r\nDKIM-Signature: v=1; a=rsa-sha256; d=${domain}; s=s; h=from; bh=AAAA; b=AAAA\r\n\r\na`,
        `a@${domain}`,
      )
      await settle()
      return isStored && isGiven()
    },
    settle: () => answers.clear(),
  }
}

/** TXT and CNAME records of a domain that is sent from. */
async function sendingDomainDoor({ world, dns }: DoorDeps): Promise<Door> {
  const scene = () => createRelayScene({ world, dns, kind: 'sparkpost' }, { isVerified: false })
  const answers = createAnswers(dns)
  let current = await scene()
  let n = 0
  return {
    name: 'answers of the name servers of a sending domain',
    inputs,
    async enter(text) {
      if (n > 0 && n % CHECKS_OF_ONE === 0) {
        await answers.clear()
        current = await scene()
      }
      n += 1
      const { client, domain } = current
      const isGiven = answers.give(domain.domain, text)
      await client.verifyDomain(domain.domain)
      return isGiven()
    },
    settle: () => answers.clear(),
  }
}

/** A tenant may have so many domains looked at in a minute. */
const CHECKS_OF_ONE = 20

/** MX and TXT records of a domain that mail is received for. */
async function inboundDomainDoor({ world, dns }: DoorDeps): Promise<Door> {
  const answers = createAnswers(dns)
  const receiver = await world.newReceiver()
  let { client } = await world.newTenant()
  let n = 0
  return {
    name: 'answers of the name servers of an inbound domain',
    inputs,
    async enter(text) {
      if (n > 0 && n % CHECKS_OF_ONE === 0) client = (await world.newTenant()).client
      n += 1
      const domain = `bomb${n}.routed.test`
      const url = `${receiver.origin}/in`
      const isGiven = answers.give(domain, text)
      await client.configureInboundRouting({ domain, url })
      await client.getInboundDomain(domain)
      await client.deleteInboundDomain(domain)
      return isGiven()
    },
    settle: () => answers.clear(),
  }
}
