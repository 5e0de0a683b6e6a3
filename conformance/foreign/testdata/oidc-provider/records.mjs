// What the server remembers, by kind. The package's own adapter forgets the oldest of some 1000 records, and a
// run makes more of them than that.
export const kinds = new Map();

export class Records {
  constructor(kind) {
    this.records = new Map();
    kinds.set(kind, this.records);
  }

  async upsert(id, record) {
    this.records.set(id, record);
  }

  async find(id) {
    return this.records.get(id);
  }

  async findByUserCode(userCode) {
    return [...this.records.values()].find((record) => record.userCode === userCode);
  }

  async findByUid(uid) {
    return [...this.records.values()].find((record) => record.uid === uid);
  }

  async consume(id) {
    this.records.get(id).consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id) {
    this.records.delete(id);
  }

  async revokeByGrantId(grantId) {
    for (const [id, record] of this.records) {
      if (record.grantId === grantId) {
        this.records.delete(id);
      }
    }
  }
}
