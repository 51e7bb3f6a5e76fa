{engine}
const facts = {facts};
const model = new charrnn.Model(facts, charrnn.bytesOf("{numbers}"));
export { charrnn };
export default model;
