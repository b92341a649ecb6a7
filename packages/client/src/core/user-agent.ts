/** How the library names itself to the service. */

/** That of package.json; a test holds them against each other. */
export const version = '1.0.0-rc.1'

/**
 * With the runtime's own name, as `Node.js/24`. Undefined in browsers, which have one that a page
 * should not replace: some would ask the service's permission for it, and some ignore it.
 */
export function userAgent(runtime: unknown = globalThis.navigator?.userAgent): string | undefined {
  const name = typeof runtime === 'string' && /^[\x21-\x7e]+$/.test(runtime) ? runtime : ''
  if (typeof runtime === 'string' && runtime.startsWith('Mozilla/')) return undefined
  return `postrider-client/${version} ${name}`.trim()
}
