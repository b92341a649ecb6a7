/** Whether records are published, by really asking a name server; else by what a test says. */
import { Resolver } from 'node:dns/promises'

export interface DnsLook {
  /** Each record's strings joined; empty where there are none. Throws where the server fails. */
  txt(name: string): Promise<readonly string[]>
  /** Without final dots, in lower case. */
  cname(name: string): Promise<readonly string[]>
  mx(name: string): Promise<readonly string[]>
}

/** `server`: `127.0.0.1:5353`. */
export function createDnsLook(server: string): DnsLook {
  const resolver = new Resolver({ timeout: 1000, tries: 2 })
  resolver.setServers([server])
  return {
    txt: async (name) => (await some(resolver.resolveTxt(name))).map((parts) => parts.join('')),
    cname: async (name) => (await some(resolver.resolveCname(name))).map(plain),
    mx: async (name) =>
      (await some(resolver.resolveMx(name))).map(({ exchange }) => plain(exchange)),
  }
}

function plain(name: string): string {
  return name.replace(/\.$/, '').toLowerCase()
}

/** That there is none is an answer. */
async function some<T>(asked: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await asked
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOTFOUND' || code === 'ENODATA') return []
    throw error
  }
}
