/** As whose a route's webhook is kept: a domain's own has no username. */
export function ownerOf(domain: string, username = ''): string {
  return `${domain}/${username}`
}
