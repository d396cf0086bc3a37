// Package schema is the shop as ent's generator reads it.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"
)

// Customer has a UUID, which has no default here: keyfill makes it.
type Customer struct{ ent.Schema }

// Fields are the columns of customers.
func (Customer) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}),
		field.String("name"),
	}
}

// Edges are the orders of a customer.
func (Customer) Edges() []ent.Edge {
	return []ent.Edge{edge.To("orders", Order.Type)}
}

// Order belongs to a customer.
type Order struct{ ent.Schema }

// Fields are the columns of orders.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.UUID("customer_id", uuid.UUID{}),
		field.String("note"),
	}
}

// Edges are the customer of an order.
func (Order) Edges() []ent.Edge {
	return []ent.Edge{edge.From("customer", Customer.Type).Ref("orders").Field("customer_id").Unique().Required()}
}

// Product is stored again when its price changes.
type Product struct{ ent.Schema }

// Fields are the columns of products.
func (Product) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id"),
		field.String("sku").Unique(),
		field.Int64("price"),
	}
}

// Invoice has a number beside its key, which keyfill makes too. No update writes it.
type Invoice struct{ ent.Schema }

// Fields are the columns of invoices.
func (Invoice) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Default(uuid.New),
		field.String("number").Optional().Immutable(),
		field.Int64("place").Optional().Immutable(),
		field.String("note"),
	}
}
