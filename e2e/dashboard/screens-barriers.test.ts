/** Every screen: nothing that axe-core finds in either theme, no complaint of the browser, no word of another tenant. */
import { expect } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeTour } from './tour.ts'

describeTour('screens', {
  open: {},
  title: 'has no barriers',
  async check(page) {
    expect(await findBarriers(page)).toEqual([])
  },
})
