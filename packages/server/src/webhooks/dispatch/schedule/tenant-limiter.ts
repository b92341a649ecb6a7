/**
 * Places that tenants share. A tenant may have only as many as are free, or a part of that: it cannot
 * fill all places alone, and each that takes all it can leaves a part of what it found to the next.
 */
export interface TenantLimiter {
  isFull(): boolean
  hasPlaceFor(tenantId: string): boolean
  enter(tenantId: string): void
  leave(tenantId: string): void
}

/** `tenantShare`: of what is free, at most 1. */
export function createTenantLimiter(places: number, tenantShare: number): TenantLimiter {
  const byTenant = new Map<string, number>()
  let free = places
  return {
    isFull: () => free === 0,
    hasPlaceFor: (tenantId) => (byTenant.get(tenantId) ?? 0) < free * tenantShare,
    enter(tenantId) {
      free -= 1
      byTenant.set(tenantId, (byTenant.get(tenantId) ?? 0) + 1)
    },
    leave(tenantId) {
      free += 1
      const left = (byTenant.get(tenantId) ?? 0) - 1
      if (left > 0) byTenant.set(tenantId, left)
      else byTenant.delete(tenantId)
    },
  }
}
